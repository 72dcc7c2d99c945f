"""Plays the scenarios of all languages, through the APIs for asyncio and for threads.

``lab/conformance/README.md`` has the format, the verbs and the rules. The program ``incumbent-harness`` makes the
faults of a store.
"""
