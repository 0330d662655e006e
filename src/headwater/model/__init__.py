"""The declarations: frozen values that know no Spark and do no input or output."""

from headwater.model.alert import DEFAULT_RULES, Figure, Rule
from headwater.model.column import Column, default_of, schema_of
from headwater.model.decimals import decimal_of, rescale, spell_decimals
from headwater.model.described import Describe, Description
from headwater.model.duration import FOREVER, parse_duration, parse_retention, spell_duration
from headwater.model.function import Function, PythonBody
from headwater.model.intake import Connector, Folder, Intake, Kafka, Mysql, Postgres
from headwater.model.lateness import Bounded, LatePolicy, Punctuated, Quantile, WatermarkStrategy
from headwater.model.outlet import SCHEMES, Accumulation, Envelope, Outlet, TargetKind
from headwater.model.pattern import Pattern
from headwater.model.project import Declaration, Project, assembled
from headwater.model.serving import LAYOUTS, Layout, Serving
from headwater.model.store import Store
from headwater.model.stream import CONTENT, Stream
from headwater.model.table import Table
from headwater.model.topic import Personal, Topic
from headwater.model.types import INSTANT, Variant, can_be_logged, is_number, spell_type
from headwater.model.upcast import Upcast
from headwater.model.view import Emit, PythonQuery, Query, SqlQuery, View, ViewExecution
from headwater.model.window import Calendar, Cumulate, Hop, Session, Tumble, Window

__all__ = [
    "CONTENT", "DEFAULT_RULES", "FOREVER", "INSTANT", "LAYOUTS", "SCHEMES", "Accumulation", "Bounded", "Calendar",
    "Column", "Connector", "Cumulate", "Declaration", "Describe", "Description", "Emit", "Envelope", "Figure", "Folder",
    "Function", "Hop", "Intake", "Kafka", "LatePolicy", "Layout", "Mysql", "Outlet", "Pattern", "Personal", "Postgres",
    "Project", "Punctuated", "PythonBody", "PythonQuery", "Quantile", "Query", "Rule", "Serving", "Session",
    "SqlQuery", "Store", "Stream", "Table", "TargetKind", "Topic", "Tumble", "Upcast", "Variant", "View",
    "ViewExecution", "WatermarkStrategy", "Window", "assembled", "can_be_logged", "decimal_of", "default_of",
    "is_number", "parse_duration", "parse_retention", "rescale", "schema_of", "spell_decimals", "spell_duration",
    "spell_type",
]  # fmt: skip
