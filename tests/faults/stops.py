"""Events: a rank that stops itself at a chosen point of its life (stop_at.c): what signals at random instants meet once in many runs,
every time. Also before its first call of MPI and after its last, where no other rank waits for it."""
from jobs import Event

AFTER_ALL = -1
START = 30  # points before the first step


class Stop(Event):
    steps = 2

    def __init__(self, args, number, kind, rank, point):
        super().__init__(args, number)
        self.kind, self.rank, self.point = kind, rank, point

    def text(self):
        where = "after its last call" if self.point == AFTER_ALL else f"at point {self.point}"
        return f"{self.kind}, world 2: rank {self.rank} stops {where}"

    def extra_environment(self):
        own = {} if self.kind == "mpirun" else {"LD_PRELOAD": self.args.stop_at}
        return {"STOP_RANK": str(self.rank), "STOP_AT": str(self.point), **own}

    def command(self):
        if self.kind == "measure":
            return self.measure()
        return ["mpirun", "--oversubscribe", "-np", "2", "-x", f"LD_PRELOAD={self.args.stop_at}", *self.measure()]

    def limit(self, hit):
        return 20  # its start, the time limit of waiting, the guard's, and mpirun's own patience with what it ends

    def expect(self, hit, status, names, said):
        faults = []
        if status == 0:
            faults.append("status 0: the rank did not stop")
        told = [line for line in said if line.startswith("shardlab: ")]
        if not told or (self.kind == "measure" and len(said) > 1):
            faults.append(f"{len(said)} lines: " + " | ".join(said[:6]))
        late = [line for line in told if "last finished" in line or "an exchange of all ranks" in line]
        if not all(f"it waits for rank {self.rank} " in line for line in late):
            faults.append("the wrong rank, or none: " + " | ".join(late))
        # the guard, which ends whom a signal stopped, comes last and does not know what the others wait for
        if 0 <= self.point < START and not any(": no progress for " in line for line in told):
            faults.append(f"nobody says where it waits: {' | '.join(told)}")
        return faults


def stops(args, first, random_, every):
    """Points of the start and of the end; every one, or one of each neighbouring five."""
    points = list(range(0, START)) + list(range(36, 55))
    if not every:
        points = [point + random_.randrange(5) for point in points[:-4:5]]
    points += [54, AFTER_ALL]
    kinds = [("mpirun", 0), ("mpirun", 1), ("measure", 0), ("measure", 1)]
    chosen = [(kind, point) for point in points for kind in (kinds if every else [random_.choice(kinds)])]
    return [Stop(args, first + i, kind, rank, point) for i, ((kind, rank), point) in enumerate(chosen)]
