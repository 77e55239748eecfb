"""Make a reply plain: reasoning blocks out, markup unwrapped, Unicode forms folded.

Every step is linear in the length of the reply; quantifiers are possessive or bounded so that no input makes a pattern
backtrack.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

BOXED, BOXED_END, TAG, TAG_END = "\ue000", "\ue001", "\ue002", "\ue003"
"""Private characters that mark the content of ``\\boxed{}`` and of an answer tag in cleaned text."""

MARKERS = BOXED + BOXED_END + TAG + TAG_END


class Visible(NamedTuple):
    """A reply without its reasoning.

    Attributes
    ----------
    text : str
        What is left, as the model wrote it.
    removed : bool
        Whether something was cut out.
    unclosed : bool
        Whether a reasoning block did not end.
    """

    text: str
    removed: bool = False
    unclosed: bool = False


_REASONING_TAG = re.compile(
    r"""<\s{0,3}(?P<close>/?)\s{0,3}(?:(?:\w{1,12}:)?think(?:ing)?|(?:inner_|internal_)?thoughts?|reason(?:ing)?|scratchpad|analysis
        |reflection|(?:inner_|internal_)monologue|cot|chain_of_thought)(?![\w-])[^<>]{0,60}>
      | <\|(?:begin_of_thought|start_thinking|thinking_start|(?P<close4>end_of_thought|end_thinking|thinking_end))\|>
      | <unused9(?:4|(?P<close5>5))>
      | \[(?P<close2>/?)think\]
      | ◁(?P<close3>/?)think▷""",
    re.IGNORECASE | re.VERBOSE,
)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_REASONING_CHANNEL = "<|channel|>analysis"


def remove_reasoning(text: str) -> Visible:
    """Cut reasoning blocks out of a reply.

    ``<think>``, ``<thinking>``, ``<reasoning>``, ``<scratchpad>`` and their like, ``[THINK]``, special tokens such as
    ``<|begin_of_thought|>``, and the analysis channel.
    A closing tag without an opening one ends a block that began before the reply (chat templates open it), so
    everything before it goes. An opening tag without a closing one hides the rest. Blocks do not nest: models write
    the opening tag inside their reasoning as a word.
    """
    if _FINAL_CHANNEL in text:
        return Visible(text.rpartition(_FINAL_CHANNEL)[2], removed=True)
    if _REASONING_CHANNEL in text:
        return Visible("", removed=True, unclosed=True)
    if not ("<" in text or "[" in text or "◁" in text):
        return Visible(text)
    kept: list[str] = []
    inside, removed, position = False, False, 0
    for tag in _REASONING_TAG.finditer(text):
        removed = True
        if any(tag.groups()):
            if not inside:
                kept.clear()
            inside, position = False, tag.end()
        elif not inside:
            kept.append(text[position : tag.start()])
            inside = True
    if not removed:
        return Visible(text)
    if not inside:
        kept.append(text[position:])
    return Visible("\n".join(kept), True, inside)


def plain(text: str) -> str:
    """Return text in one plain form: ASCII digits and signs, no markup, single spaces, ``\\n`` between lines.

    ``\\boxed{B}`` and ``<answer>B</answer>`` leave private marker characters around their content, which
    ``dodiag.runners.reading.cues`` reads.
    """
    if not text.isascii():
        text = _fold_unicode(text)
    if _MARKUP.search(text):
        text = _unwrap(text)
    return _tidy(text)


_ONE_TO_ONE = (
    dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f" + MARKERS))
    | dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xFE00, 0xFE10)])
    | dict.fromkeys(map(ord, "−‐‑‒–﹣－"), "-")
    | dict.fromkeys(map(ord, "‘’‚′ʼ´"), "'")
    | dict.fromkeys(map(ord, "“”„″«»「」『』"), '"')
    | dict.fromkeys(map(ord, "→⇒➔➜⟶⟹➡⟼➙"), "->")
    | dict.fromkeys(map(ord, "\u2028\u2029\x85"), "\n")
    | {ord("٫"): ".", ord("٬"): ",", ord("،"): ",", ord("、"): ",", ord("。"): ". ", ord("•"): "-", ord("✱"): "*"}
    | {ord("º"): "°", ord("˚"): "°", ord("【"): "", ord("】"): ": "}
)

_SUPERSCRIPT = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_DECORATION = re.compile(
    "[\U0001f300-\U0001f44d\U0001f44f-\U0001f4ae\U0001f4b0-\U0001f51e\U0001f520-\U0001f6aa"
    "\U0001f6ac-\U0001f7ef\U0001f900-\U0001faff✅✓✔☑⭐✨★]"
)
"""Pictures beside an answer; not those that deny (❌ 🚫 👎) or are numbers and signs (🔟 💯 ➕)."""
_VULGAR = re.compile("[¼-¾⅐-⅞↉]")
_GROUPED_BY_SPACE = re.compile("(?<=\\d)[\u00a0\u202f\u2009](?=\\d{3}(?!\\d))")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def _fold_unicode(text: str) -> str:
    text = _GROUPED_BY_SPACE.sub("", text)
    text = _DECORATION.sub("", text)
    text = _SUPERSCRIPT.sub(lambda match: "^" + unicodedata.normalize("NFKC", match[0]), text)
    text = _VULGAR.sub(lambda match: " " + unicodedata.normalize("NFKC", match[0]) + " ", text)
    text = unicodedata.normalize("NFKC", text.translate(_ONE_TO_ONE)).translate(_ONE_TO_ONE).replace("\u2044", "/")
    return _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)


_MARKUP = re.compile(r"[*_`$\\<#~>]")
_SPECIAL_TOKEN = re.compile(r"<\|[A-Za-z_]{1,30}\|>|</?s>|<(?:eos|bos|pad|unk|start_of_turn|end_of_turn)>")
_ANSWER_OPEN = re.compile(r"<(?:final_?)?answer>", re.IGNORECASE)
_ANSWER_CLOSE = re.compile(r"</(?:final_?)?answer>", re.IGNORECASE)
_LINE_BREAK_TAG = re.compile(r"<(?:br|/div|/li)\s?/?>", re.IGNORECASE)
_HTML_TAG = re.compile(
    r"</?(?:em|strong|span|div|li|ul|ol|code|pre|sub|mark|center|small|final|result|output|response|solution|count)>",
    re.IGNORECASE,
)
_ONE_LETTER_TAG = {letter: re.compile(f"</?{letter}>", re.IGNORECASE) for letter in "biup"}
"""Only tags where they are closed: ``<B>`` alone is the letter B."""
_FENCE = re.compile(r"```[A-Za-z]{0,12}(?=\s|$)|```")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_HEADING = re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]|>[ \t]?(?![ \t]*[-+]?\d))++", re.MULTILINE)
"""Headings and quotes; ``> 7`` is a bound."""
_EMPHASIS = re.compile(
    r"(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])|(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)"
)
_SIGNED_MONEY = re.compile(r"-\$(?=\d)")


def _unwrap(text: str) -> str:
    if "<" in text:
        text = _SPECIAL_TOKEN.sub("", text)
        text = _ANSWER_CLOSE.sub(TAG_END, _ANSWER_OPEN.sub(TAG, text))
        lowered = text.lower()
        for letter, tag in _ONE_LETTER_TAG.items():
            if f"</{letter}>" in lowered:
                text = tag.sub("", text)
        text = _HTML_TAG.sub("", _LINE_BREAK_TAG.sub("\n", text))
    if "`" in text:
        text = _FENCE.sub("\n", text).replace("`", "")
    if "~" in text:
        text = _STRUCK.sub("", text)
    if "#" in text or ">" in text:
        text = _HEADING.sub("", text)
    if "\\" in text:
        text = _unwrap_latex(text)
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub("", text)
    if "$" in text:
        text = _SIGNED_MONEY.sub("-", text).replace("$", " ")
    return text


_BOLD = re.compile(r"\*\*(?=\S)([^*\n]{1,60})\*\*|(?<!\w)__(?=\S)([^_\n]{1,60})__(?!\w)")


def in_bold(text: str) -> list[str]:
    """Return the short pieces of a reply that are set in bold, as written."""
    return [match[1] or match[2] for match in _BOLD.finditer(text)] if "**" in text or "__" in text else []


_TEXT_COMMAND = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathit|mathsf|mathtt|mathbb|mbox|hbox|emph|underline|bm"
    r"|boldsymbol|operatorname|displaystyle|large|Large|LARGE|huge|Huge)(?![A-Za-z])\s{0,3}\{([^{}]*+)\}"
)
_FRACTION = re.compile(r"\\[dt]?frac\s{0,3}(?:\{([^{}]*+)\}\s{0,3}\{([^{}]*+)\}|(\d)\s{0,3}(\d))")
_BOX = re.compile(r"\\f?boxed\s{0,3}\{([^{}]*+)\}")
_ROOT = re.compile(r"\\sqrt\s{0,3}(?:\[[^\[\]{}]{1,9}\]\s{0,3})?(?:\{([^{}]*+)\}|(\d))")
_DEGREES = re.compile(r"\^ ?\{? ?\\(?:circ|degree)(?![A-Za-z]) ?\}?")
_DIGIT_GAP = re.compile(r"(?<=\d)(?:\{,\}|\\[,;:! ])(?=\d{3})")
_TIMES_TEN = re.compile(r"(?<=\d) ?(?:×|x|\*|·|⋅) ?10\^ ?\{? ?([-+]?\d{1,4}) ?\}?")
_LATEX_WORDS = {
    "rightarrow": "->", "Rightarrow": "->", "longrightarrow": "->", "implies": "->", "to": "->", "times": "×",
    "cdot": "×", "div": "÷", "approx": "≈", "pm": "±", "lt": "<", "gt": ">", "leq": "≤", "geq": "≥", "left": "",
    "right": "", "boxed": " ", "quad": " ", "qquad": " ", "degree": "", "circ": "", "displaystyle": "", "begin": " ",
    "end": " ", "ldots": "...", "dots": "...", "pi": "π",
}  # fmt: skip
_LATEX_WORD = re.compile(r"\\([A-Za-z]{2,20})(?![A-Za-z])")
_LATEX_BRACKET = re.compile(r"\\[()\[\],;:! ]")
_LATEX_ESCAPE = re.compile(r"\\([%$#&_{}*`~|-])")
_NESTING = 4
"""Commands inside commands that are unwrapped; ``\\boxed{\\textbf{\\text{B}}}`` has two."""


def _fraction(match: re.Match[str]) -> str:
    """Return a fraction on one line, apart from what stands beside it but for its sign."""
    signed = match.start() > 0 and match.string[match.start() - 1] == "-"
    return f"{'' if signed else ' '}{match[1] or match[3]}/{match[2] or match[4]} "


def _unwrap_latex(text: str) -> str:
    text = _DEGREES.sub("°", text)
    text = _DIGIT_GAP.sub(lambda match: "," if match[0][0] == "{" else "", text)
    text = text.replace("\\{", "(").replace("\\}", ")")  # braces of a set, which would end a command too early
    for _ in range(_NESTING):
        before = text
        text = _TEXT_COMMAND.sub(r"\1", text)
        text = _ROOT.sub(lambda match: f"√({match[1] or match[2]})", text)
        text = _FRACTION.sub(_fraction, text)
        text = _BOX.sub(rf"{BOXED}\1{BOXED_END}", text)
        if text == before:
            break
    text = _LATEX_WORD.sub(lambda match: _LATEX_WORDS.get(match[1], match[0]), text)
    text = _LATEX_ESCAPE.sub(r"\1", _LATEX_BRACKET.sub(" ", text))
    return text.replace("{}", "")


_SPACED_SIGN = re.compile(r"(?<=[=≈(]) ?- (?=\d)")
_SPACES = re.compile(r"[^\S\n]{2,}+|[^\S\n ]")


def _tidy(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _SPACES.sub(" ", text)
    if "10^" in text:
        text = _TIMES_TEN.sub(r"e\1", text)
    if "- " in text:
        text = _SPACED_SIGN.sub("-", text)
    if "\n" in text:
        text = text.replace(" \n", "\n").replace("\n ", "\n")
    return text.strip()
