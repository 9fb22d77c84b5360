"""How often each value of each dimension occurred among the configurations that were accepted."""
from collections import Counter, defaultdict

from same.models import CLUSTERS, PRESETS
from same.spoil import SPOILERS
from same.draw import OPTIMIZERS, PRECISIONS, RATES
from same.strategies import NAMES, SCHEDULES

# These must come at least LEAST times in a draw of ENOUGH configurations.
MUST = {"stage": range(4), "strategy": NAMES, "schedule": SCHEDULES, "precision": PRECISIONS, "family": ["gpt2", "llama", "mlp"]}
LEAST, ENOUGH = 5, 200
SHOULD = {"cluster": CLUSTERS, "optimizer": OPTIMIZERS, "rate": RATES,
          "model": [*PRESETS, "gpt2 file", "llama file", "mlp file"], "spoilt": SPOILERS}


class Coverage:
    def __init__(self):
        self.counts = defaultdict(Counter)
        for dimension, values in {**MUST, **SHOULD}.items():
            self.counts[dimension].update({str(value): 0 for value in values})

    def add(self, facts):
        for dimension, value in facts.items():
            self.counts[dimension][str(value)] += 1

    def rare(self, count):
        """What a draw of `count` configurations should have had more often."""
        if count < ENOUGH:
            return []
        return [f"{dimension} {value}: {self.counts[dimension][str(value)]}" for dimension, values in MUST.items()
                for value in values if self.counts[dimension][str(value)] < LEAST]

    def show(self):
        for dimension, counts in self.counts.items():
            print(f"{dimension + ':':<22}" + ", ".join(f"{value} {n}" for value, n in counts.items()))
