"""A web service: POST rows to /predict, get P(class | row). `uvicorn app:app`, with the model file's name in $MODEL."""

import os
from typing import Any

import pyarrow as pa
from fastapi import FastAPI, HTTPException

from tanager import TanagerError, load_model

model = load_model(os.environ.get("MODEL", "model.json"))
columns = model.feature_names_in_.tolist()
app = FastAPI(title="Tanager")


@app.post("/predict")
def predict(rows: list[dict[str, Any]]) -> list[dict[str, float]]:
    """A missing value is null; a row that lacks a column, or has another one, is refused."""
    for number, row in enumerate(rows):
        if row.keys() != set(columns):
            raise HTTPException(422, f"row {number} has the columns {sorted(row)}; expected are {sorted(columns)}.")
    try:
        shares = model.predict_proba(pa.table({name: [row[name] for row in rows] for name in columns}))
    except (TanagerError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise HTTPException(422, str(error)) from error
    return [dict(zip(map(str, model.classes_), row, strict=True)) for row in shares.tolist()]
