"""All models, by name: files are by what the models work on."""

from __future__ import annotations

from benchmarks.cliffs.model import Model
from benchmarks.cliffs.models import deciding, graphs, plain, searching, sequences, trees, whole

FAMILIES = (trees, graphs, sequences, deciding, searching, whole, plain)
MODELS: dict[str, Model] = {model.name: model for family in FAMILIES for model in family.MODELS}
