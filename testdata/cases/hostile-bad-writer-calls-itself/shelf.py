import torch


def put(net, name, depth):
    """Write the net, and with more depth once more under a second name."""
    if depth > 1:
        put(net, name + "-again", depth - 1)
    torch.save(net.state_dict(), f"{name}{depth}.pt")
