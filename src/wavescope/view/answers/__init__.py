"""What the page asks beside tiles: a module for each question, found by its name in `QUESTIONS`."""

from wavescope.view.answers.question import BINARY, JSON, Answer, Asked, Question

__all__ = ["BINARY", "JSON", "Answer", "Asked", "Question"]
