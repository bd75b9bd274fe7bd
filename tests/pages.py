"""What HTML reports hold."""

from __future__ import annotations

import json
import re


def gathered(html):
    """What a page holds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found.group(1))
