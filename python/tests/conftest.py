"""What the tests share."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FULL = bool(os.environ.get("SOTTOVOCE_FULL"))


@pytest.fixture(scope="session")
def command() -> str:
    """The command `sottovoce` of the same commit: $SOTTOVOCE_COMMAND, or the one that cargo built."""
    named = os.environ.get("SOTTOVOCE_COMMAND", str(ROOT / "target/release/sottovoce"))
    found = shutil.which(named)
    if found is None:
        pytest.skip(f"{named} does not exist; `cargo build --release` makes it")
    return found


@pytest.fixture(autouse=True)
def no_window() -> None:
    os.environ["MPLBACKEND"] = "agg"
