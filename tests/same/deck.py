"""Cards for the draw: what is dealt from a deck comes equally often, which 200 throws of dice do not promise."""


class Deck:
    """A round of all cards, shuffled, then the next round."""

    def __init__(self, rng, cards):
        self.rng, self.cards, self.left = rng, list(cards), []

    def deal(self, fits=lambda card: True):
        """The first card that fits; those before it stay on top and come as soon as they fit."""
        for _ in range(2):
            for i, card in enumerate(self.left):
                if fits(card):
                    return self.left.pop(i)
            self.left += self.rng.sample(self.cards, len(self.cards))
        raise LookupError("no card of the deck fits")
