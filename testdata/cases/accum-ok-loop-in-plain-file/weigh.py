def weigh(crates, scale, parts):
    for grain, mass in crates:
        scale.empty()
        pieces = list(zip(grain.chunk(parts), mass.chunk(parts)))
        for number, (some_grain, some_mass) in enumerate(pieces, 1):
            with scale.held(number < len(pieces)):
                scale.put(some_grain, some_mass, len(pieces))
        scale.read()
