"""Files of reports that Spark reads: what their metadata say, by Spark's own reader of Parquet, so that any storage it knows will do.

Everything here runs where the session is, and not on the workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from ._footer import File, of_entries
from .errors import FileError, InvalidInput

if TYPE_CHECKING:
    from ._protocol import Protocol

__all__ = ["SparkFile", "file_errors", "files_of", "has_places", "has_texts", "refuse_other"]

GONE = "the file does not exist any more"
DAMAGED = "the file is damaged, or is no Parquet file"
READERS = 16
"""Files whose metadata are read at the same time: object stores take long to answer, and answer many."""


@dataclass(frozen=True)
class SparkFile:
    """A file of a DataFrame."""

    said: File
    """What its metadata say. Its name is that in the hidden column ``_metadata.file_path``."""
    kind: str | None
    """The physical type of the column of reports."""


def has_places(frame: Any) -> bool:
    """Whether the rows of a DataFrame know the file they are from, and their number in it."""
    if "_metadata" in frame.columns:
        return False
    hidden = frame._jdf.queryExecution().analyzed().metadataOutput()
    columns = [hidden.apply(place) for place in range(hidden.size())]
    return any(column.name() == "_metadata" and '"row_index"' in column.dataType().json() for column in columns)


def files_of(frame: Any, column: str) -> list[SparkFile]:
    """The files of a DataFrame."""
    session = frame.sparkSession
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    with file_errors():
        addresses = list(frame.inputFiles())
    with ThreadPoolExecutor(READERS) as readers:
        return list(readers.map(lambda address: _file(session._jvm, configuration, address, column), addresses))


def _file(jvm: Any, configuration: Any, address: str, column: str) -> SparkFile:
    name = "file:/" + address.removeprefix("file:///") if address.startswith("file:///") else address
    with file_errors(name):
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(address))
        source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, configuration)
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
        try:
            said, rows = reader.getFileMetaData(), reader.getRecordCount()
        finally:
            reader.close()
        schema = said.getSchema()
        file = of_entries(name, rows, dict(said.getKeyValueMetaData()), [said.getCreatedBy() or "", schema.toString()])
        fields = (schema.getType(place) for place in range(schema.getFieldCount()))
        kinds = [field.asPrimitiveType().getPrimitiveTypeName().toString() for field in fields if field.getName() == column and field.isPrimitive()]
    return SparkFile(file, kinds[0] if kinds else None)


def refuse_other(files: list[SparkFile], protocol: Protocol) -> set[str]:
    """Refuses files whose headers are damaged or of another protocol. Gives the names of those whose reports follow from a test seed."""
    insecure = set()
    for file in (file.said for file in files):
        if _native.check_header(protocol._native, file.name, file.header, file.end, file.named):
            insecure.add(file.name)
    return insecure


def has_texts(files: list[SparkFile]) -> bool:
    """Whether columns of bytes hold reports in text: in Parquet, bytes of any length are text, and bytes of one length are the report itself."""
    kinds = {file.kind for file in files}
    if len(kinds & {"BINARY", "FIXED_LEN_BYTE_ARRAY"}) == 2:
        raise InvalidInput("some files have reports in text and others in bytes; tally them apart, and merge the tallies")
    return "BINARY" in kinds


@contextmanager
def file_errors(name: str | None = None) -> Iterator[None]:
    """Says what is wrong with a file in a line, and not in Spark's pages."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        problem, file = _failure(error)
        if file is None and name is None:
            raise
        raise FileError(f"{file or name}: {problem}") from error


def _failure(error: Exception) -> tuple[str, str | None]:
    """What Java says of a file, and which one it was, if it says that."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        condition = _condition(java)
        if condition.startswith("FAILED_READ_FILE"):
            file = dict(java.getMessageParameters()).get("path")
            return (GONE if condition.endswith(".FILE_NOT_EXIST") else DAMAGED), file
        if java.getClass().getName() == "java.io.FileNotFoundException":
            return GONE, None
        if "is not a Parquet file" in str(java.getMessage()):
            return DAMAGED, None
        java = java.getCause()
    return "the file cannot be read", None


def _condition(java: Any) -> str:
    """The name that Spark has for an error; exceptions of others have none, and Java's objects seem to have every method until it is called."""
    if not java.getClass().getName().startswith("org.apache.spark."):
        return ""
    try:
        return str(java.getCondition())
    except Exception:
        return ""
