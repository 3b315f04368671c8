"""Draw the depths of a trained reef, in one process."""
import torch

from reef import Reef, soundings


def main():
    saved = torch.load("reef/final.pt", map_location="cpu")
    reef = Reef()
    reef.load_state_dict({key.removeprefix("module."): value for key, value in saved.items()})
    sonar, _ = soundings(4)[:]
    print([round(depth, 2) for depth in reef(sonar).tolist()])


if __name__ == "__main__":
    main()
