import random


def part_of(letters, share):
    """Letters to learn from, and letters to test on."""
    random.Random(11).shuffle(letters)
    edge = int(len(letters) * share)
    return letters[:edge], letters[edge:]
