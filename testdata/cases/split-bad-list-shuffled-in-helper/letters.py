import random


def part_of(letters, share):
    """Letters to learn from, and letters to test on."""
    random.shuffle(letters)  # [ddp-rank-dependent-split]
    edge = int(len(letters) * share)
    return letters[:edge], letters[edge:]
