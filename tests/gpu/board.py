"""The stages of a part with their verdicts, on disk before the first begins and after each: stages.tsv, table.txt and the archive
of the whole folder. Each file appears by a rename, or the former one stays: a full disk and a sudden end cost what is new, no
more."""
import os
import pathlib
import shutil
import tarfile

import summary
from stage import Outcome

SHARED = "one"  # a folder: stages.sh


def replaced(path, write):
    """`path` as `write` makes it, or as it was."""
    new = path.with_name(path.name + ".new")
    try:
        write(new)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def wanted(member):
    """What stages share among each other stays where it is."""
    path = pathlib.PurePath(member.name)
    return None if path.parts[1:2] == (SHARED,) or path.suffix == ".new" else member


def pack(folder, to):
    with tarfile.open(to, "w:gz", compresslevel=6) as tar:
        tar.add(folder, folder.name, filter=wanted)


class Board:
    def __init__(self, folder, order, also):
        self.folder, self.order, self.also = folder, order, also
        self.rows, self.trouble = {}, ""
        self.archive = folder.with_name(folder.name + ".tar.gz")

    def load(self):
        """The verdicts of an earlier call; a stage in whose middle that was killed is still running."""
        path = self.folder / "stages.tsv"
        for line in path.read_text().splitlines() if path.exists() else ():
            name, verdict, seconds, last = line.split("\t", 3)
            self.rows[name] = Outcome(verdict, int(seconds), last)

    def note(self, name, outcome):
        self.rows[name] = outcome
        self.save()

    def lines(self):
        for name in (n for n in self.order if n in self.rows):
            row = self.rows[name]
            yield f"{name}\t{row.verdict}\t{row.seconds}\t{row.last}"

    def text(self):
        lines = list(self.lines())
        try:
            return summary.text(self.folder, lines)
        except (LookupError, TypeError, ValueError, OSError) as e:  # a record that is not what it should be
            return "".join(f"{line}\n" for line in lines) + f"the records in {self.folder.name} cannot be read: {e!r}\n"

    def save(self):
        """As far as the disks allow: what could not be written is `trouble`, and the stages go on."""
        self.trouble = ""
        text, rows = self.text(), "".join(f"{line}\n" for line in self.lines())
        self.write(self.folder / "stages.tsv", lambda p: p.write_text(rows))
        self.write(self.folder / "table.txt", lambda p: p.write_text(text))
        self.write(self.archive, lambda p: pack(self.folder, p))
        if self.also:
            self.write(self.also / f"{self.folder.name}.txt", lambda p: p.write_text(text))
            self.write(self.also / self.archive.name, lambda p: shutil.copyfile(self.archive, p))

    def write(self, path, how):
        try:
            replaced(path, how)
        except OSError as e:
            self.trouble = f"{path.name} could not be renewed: {e.strerror or e}"

    def failed(self):
        return any(row.verdict not in ("passed", "skipped") for row in self.rows.values())
