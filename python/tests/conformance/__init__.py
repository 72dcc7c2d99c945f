"""Plays the scenarios that every language plays, through the asyncio face and the one for threads.

The format, the verbs and the rules are in ``tests/conformance/README.md``; what befalls a store is done by the program
``incumbent-stage``.
"""
