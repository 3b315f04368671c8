def weigh(crates, scale, parts):
    for grain, mass in crates:
        scale.empty()
        pieces = list(zip(grain.chunk(parts), mass.chunk(parts)))
        for some_grain, some_mass in pieces:
            scale.put(some_grain, some_mass, len(pieces))  # [ddp-wasted-gradient-sync]
        scale.read()
