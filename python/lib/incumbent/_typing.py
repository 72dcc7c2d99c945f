"""Names for annotations that the oldest Python lacks, so that annotations resolve while a program runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack
else:

    class Unpack:
        """Represents the keywords of a TypedDict; Python 3.10 has no name for them."""

        def __class_getitem__(cls, keywords: object) -> object:
            return Any


__all__ = ["Unpack"]
