"""Names of variables that strangers may send."""

from __future__ import annotations

NASTY = {
    "markup": "<img src=x onerror=alert(1)>",
    "script": "</script><script>window.ran = 1</script>",
    "long": "x" * 5000,
    "right to left": "שלום עולם (جين)",
    "emoji": "👩‍🔬🧬 gene",
    "turned": "\u202egnp.exe",
    "empty": " ",
    "half": "half \ud800",
    "comment": "<!--<script>",
    "entities": "&lt;b&gt; &amp; ]]>",
    "template": "$data ${data} $$",
    "lines": "\u2028\u2029\n\r\x00\x1b[31m",
    "escapes": '"\\"\\u003c',
}
