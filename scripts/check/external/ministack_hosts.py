"""Makes MiniStack serve a REST API also at the name that it has in AWS, <api>.execute-api.<region>.amazonaws.com.
MiniStack itself knows only <api>.execute-api.localhost. scripts/deploy takes the name from the stack and connects to the
emulator."""

import re

from ministack import app

app._EXECUTE_API_RE = re.compile(r"^([a-f0-9]{8})\.execute-api\.(?:localhost|[a-z0-9-]+\.amazonaws\.com)(?::\d+)?$")
