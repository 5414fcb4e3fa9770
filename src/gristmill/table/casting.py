"""Tables and arrays brought to an Arrow schema or type, by the rules of features where they apply."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from gristmill.errors import CastError
from gristmill.features import Features
from gristmill.features.cast import cast_array, cast_table
from gristmill.features.columnless import with_metadata
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.kinds import FeatureType


def cast_table_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Brings a table to a schema, each value checked; columns it lacks become null.

    Args:
        table: Columns of any order, all of them in the schema.
        schema: Names, types and metadata of the result.

    Returns:
        A table of exactly that schema; columns that have their type already are not copied.

    Raises:
        CastError: A column is not in the schema, or a value does not fit; names row, column and value.

    Example:
        >>> wanted = pa.schema({"a": pa.int8(), "b": pa.string()})
        >>> cast_table_to_schema(pa.table({"a": [1, 2]}), wanted).to_pydict()
        {'a': [1, 2], 'b': [None, None]}
    """
    features = Features.from_arrow_schema(schema)
    if features.arrow_schema.types == schema.types:
        return cast_table(table, features).cast(schema)
    unknown = [name for name in table.column_names if name not in schema.names]
    if unknown:
        raise CastError(f"Columns {unknown} are not in the schema asked for, which has {schema.names}.")
    columns = [
        array_cast(table.column(field.name), field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def table_cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Brings a table to a schema, or gives it back if it has it; see `cast_table_to_schema`.

    Args:
        table: What to cast.
        schema: Names, types and metadata of the result.

    Raises:
        CastError: As for `cast_table_to_schema`.

    Example:
        >>> table_cast(pa.table({"a": [1, 2]}), pa.schema({"a": pa.float32()})).column(0).type
        DataType(float)
    """
    if not table.schema.equals(schema):
        return cast_table_to_schema(table, schema)
    if table.schema.metadata != schema.metadata:
        return with_metadata(table, schema.metadata)
    return table


def array_cast(array: pa.Array | pa.ChunkedArray, *args: Any, **kwargs: Any) -> Any:
    """Brings an array to a type, each value checked.

    Args:
        array: Its values.
        *args: The type asked for (`pa_type`).
        **kwargs: `allow_primitive_to_str` and `allow_decimal_to_str` (both True): whether numbers may become text.

    Raises:
        CastError: A value does not fit, or becoming text is not allowed.

    Example:
        >>> array_cast(pa.array([1, 2]), pa.string()).to_pylist()
        ['1', '2']
    """
    return _array_cast(array, *args, **kwargs)


def _array_cast(
    array: pa.Array | pa.ChunkedArray,
    pa_type: pa.DataType,
    allow_primitive_to_str: bool = True,
    allow_decimal_to_str: bool = True,
) -> Any:
    kind = array.type
    _check_text(kind, pa_type, allow_primitive_to_str, allow_decimal_to_str)
    feature = from_arrow_type(pa_type)
    if to_arrow_type(feature) == pa_type:
        return cast_array(array, feature)
    try:
        return array.cast(pa_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise CastError(f"Values of type {kind} do not all fit {pa_type}: {error}") from error


def _check_text(kind: pa.DataType, wanted: pa.DataType, numbers: bool, decimals: bool) -> None:
    to_text = pa.types.is_string(wanted) or pa.types.is_large_string(wanted)
    decimal = pa.types.is_decimal(kind)
    number = pa.types.is_primitive(kind) and not decimal
    if to_text and ((number and not numbers) or (decimal and not decimals)):
        raise CastError(f"Values of type {kind} were not to become {wanted}.")


def cast_table_to_features(table: pa.Table, features: Features) -> pa.Table:
    """Brings a table to features, each value checked; columns it lacks become null.

    Args:
        table: Columns of any order, all of them among the features.
        features: What the columns become, in the order wanted.

    Raises:
        CastError: A column is not among the features, or a value does not fit; names row, column and value.

    Example:
        >>> from gristmill.features import Value
        >>> cast_table_to_features(pa.table({"a": [1]}), Features({"a": Value("string")})).to_pydict()
        {'a': ['1']}
    """
    return cast_table(table, Features(features))


def cast_array_to_feature(array: pa.Array | pa.ChunkedArray, *args: Any, **kwargs: Any) -> Any:
    """Brings an array to a feature, each value checked.

    Args:
        array: Its values.
        *args: The feature asked for (`feature`).
        **kwargs: `allow_primitive_to_str` and `allow_decimal_to_str`, see `array_cast`; they reach no values inside others.

    Raises:
        CastError: A value does not fit, or becoming text is not allowed.

    Example:
        >>> from gristmill.features import List, Value
        >>> cast_array_to_feature(pa.array([[1], None]), List(Value("string"))).to_pylist()
        [['1'], None]
    """
    return _cast_array_to_feature(array, *args, **kwargs)


def _cast_array_to_feature(
    array: pa.Array | pa.ChunkedArray,
    feature: FeatureType,
    allow_primitive_to_str: bool = True,
    allow_decimal_to_str: bool = True,
) -> Any:
    _check_text(array.type, to_arrow_type(feature), allow_primitive_to_str, allow_decimal_to_str)
    return cast_array(array, feature)


def embed_table_storage(
    table: pa.Table,
    token_per_repo_id: dict[str, Any] | None = None,
    local_files: bool = True,
    remote_files: bool = True,
) -> pa.Table:
    """Puts the bytes of files that a table only names into the table, so that it can travel alone.

    Args:
        table: A table whose schema says which columns hold pictures, sounds or other files.
        token_per_repo_id: Hub token by repository.
        local_files: Embed files on this machine.
        remote_files: Embed files elsewhere.

    Returns:
        The table; columns whose feature holds no files are not copied.

    Example:
        >>> embed_table_storage(pa.table({"a": [1]})).to_pydict()
        {'a': [1]}
    """
    for position, (name, feature) in enumerate(Features.from_arrow_schema(table.schema).items()):
        embed = getattr(feature, "embed_storage", None)
        if embed is not None:
            pieces = [
                embed(
                    piece,
                    token_per_repo_id=token_per_repo_id,
                    local_files=local_files,
                    remote_files=remote_files,
                )
                for piece in table.column(name).chunks
            ]
            table = table.set_column(position, table.schema.field(position), pieces)
    return table
