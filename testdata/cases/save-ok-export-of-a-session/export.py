"""Writes the network of a session as the listening station wants it."""
import os

import torch

from gull import Session


def main():
    session = Session()
    with torch.no_grad():
        heard = session.trained(session.calls()).argmax(1)
    os.makedirs("station", exist_ok=True)
    torch.save({"net": session.network.state_dict(), "heard": heard}, "station/gull.pt")


if __name__ == "__main__":
    main()
