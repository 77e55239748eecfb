"""Places for requests in flight: never more than asked for, fewer while a server cannot take them, none lost."""

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.runners.places import Places


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000), st.booleans())
def test_no_more_are_taken_than_there_are_and_all_get_one_in_turn(most, seed, adaptive):
    draw = random.Random(seed)
    inside, highest, served = 0, 0, []

    async def visit(places, number):
        nonlocal inside, highest
        await places.take()
        served.append(number)
        inside += 1
        highest = max(highest, inside)
        try:
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)
            if draw.random() < 0.3:
                places.too_much(float(number), float(number))
            else:
                places.answered()
        finally:
            inside -= 1
            places.give()

    async def all_of_them():
        places = Places(most, adaptive)
        tasks = [asyncio.create_task(visit(places, number)) for number in range(40)]
        for task in draw.sample(tasks, 5):
            if draw.random() < 0.5:
                await asyncio.sleep(0)
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        free = [asyncio.create_task(places.take()) for _ in range(places.now)]
        await asyncio.wait_for(asyncio.gather(*free), 10)
        return places

    places = asyncio.run(all_of_them())
    assert highest <= most
    assert served == sorted(served)
    assert 1 <= places.now <= most
    assert adaptive or places.now == most


def test_a_burst_halves_the_places_once_and_replies_bring_them_back():
    places = Places(16)

    async def fill():
        for _ in range(16):
            await places.take()

    asyncio.run(fill())
    for sent in (1.0, 1.1, 1.2):
        places.too_much(sent, now=2.0)
    assert places.now == 8, "requests sent before it was known are one burst"
    places.too_much(2.5, now=3.0)
    assert places.now == 4
    rounds = 0
    while places.now < 16:
        for _ in range(places.now):
            places.answered()
        rounds += 1
    assert 8 <= rounds <= 16, "one more in each round of replies while they are few, then a tenth"
