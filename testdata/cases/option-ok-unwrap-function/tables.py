"""What is inside of what: the project keeps a table of it."""
INSIDE = {}


def remember(outer, inner):
    INSIDE[id(outer)] = inner
    return outer


def bare(model):
    if id(model) in INSIDE:
        return INSIDE[id(model)]
    return model


def dressed(model):
    return model
