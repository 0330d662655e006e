"""Completion: the names that a statement can have, offered by the editor as one types.

The editor is CodeMirror. It asks its language for what can be completed; what the project has is added to that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from headwater.query.offered import FUNCTIONS, WORDS

_OFFER = """
import('nicegui-codemirror').then(async (CM) => {
  const names = %s, editor = await getElement(%d).editorPromise;
  const offer = (context) => {
    const dotted = context.matchBefore(/(\\w+)\\.(\\w*)$/);
    if (dotted) {
      const columns = names.tables[dotted.text.split('.')[0].toLowerCase()];
      return columns ? {from: dotted.from + dotted.text.indexOf('.') + 1, options: columns, validFor: /^\\w*$/} : null;
    }
    const word = context.matchBefore(/\\w+$/);
    if (!word && !context.explicit) return null;
    return {from: word ? word.from : context.pos, options: names.all, validFor: /^\\w*$/};
  };
  const added = CM.EditorState.languageData.of(() => [{autocomplete: offer}]);
  editor.dispatch({effects: CM.StateEffect.appendConfig.of(added)});
});
"""


def options_of(tables: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, Any]:
    """The names that are offered: all and, behind a table's name and a dot, its columns with their types."""
    columns = {
        name.lower(): [{"label": column, "type": "property", "detail": kind} for column, kind in typed]
        for name, typed in tables.items()
    }
    known = {str(option["label"]): option for offered in columns.values() for option in offered}
    named = [{"label": name, "type": "class", "detail": "view", "boost": 2} for name in tables]
    spelled = [{"label": name, "type": "function", "apply": f"{name}("} for name in FUNCTIONS]
    words = [{"label": word, "type": "keyword", "boost": -1} for word in WORDS]
    return {"all": [*named, *known.values(), *spelled, *words], "tables": columns}


def offer_names(editor: ui.codemirror, tables: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Let an editor complete the names of tables, columns and functions."""
    ui.run_javascript(_OFFER % (json.dumps(options_of(tables)), editor.id))
