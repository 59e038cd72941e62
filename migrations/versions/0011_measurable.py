"""No number that nothing can have measured: not NaN, not infinite, not negative."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

POSSIBLE = "({0} = 0 OR {0} BETWEEN 1e-12 AND 1e+12)"
SAMPLES = "(0 <= ALL (samples_ms) AND 1e+12 >= ALL (samples_ms))"
"""NaN is greater than any other number here."""
MEASURABLE = (
    " AND ".join(POSSIBLE.format(name) for name in ("init_ms", "cold_ms", "steady_ms"))
    + " AND iqr_ms BETWEEN 0 AND 1e+12 AND lock_wait_ms BETWEEN 0 AND 1e+12 AND duration_s BETWEEN 0 AND 1e+09"
    " AND calls_per_sample >= 0 AND position >= 0 AND log_bytes >= 0"
)


def upgrade() -> None:
    # What was made of the wrong numbers is made again: cells without a row in matrices are behind.
    op.execute(f"""
        DELETE FROM matrices
         WHERE campaign_id IN (SELECT campaign_id FROM outcomes WHERE NOT ({MEASURABLE} AND {SAMPLES}))
    """)
    for name in ("cold_ms", "steady_ms", "iqr_ms", "ratio_to_cpu"):
        op.execute(f"UPDATE matrix_cells SET {name} = NULL WHERE {name} < 0 OR {name} IN ('NaN', 'Infinity')")
    # Of samples with an impossible one, the same clock took the others.
    op.execute(f"""
        UPDATE outcomes SET samples_ms = NULL, steady_ms = NULL, iqr_ms = NULL, calls_per_sample = NULL
         WHERE NOT {SAMPLES}
    """)
    for name in ("init_ms", "cold_ms", "steady_ms"):
        # Too small to be told from nothing is nothing; the rest was not measured.
        op.execute(f"""
            UPDATE outcomes SET {name} = CASE WHEN {name} > 0 AND {name} < 1e-12 THEN 0 END
             WHERE NOT {POSSIBLE.format(name)}
        """)
    # Below zero it is the rounding of quartiles that are equal.
    op.execute("""
        UPDATE outcomes SET iqr_ms = CASE WHEN iqr_ms < 0 AND iqr_ms > '-Infinity' THEN 0 END
         WHERE NOT iqr_ms BETWEEN 0 AND 1e+12
    """)
    op.execute("UPDATE outcomes SET lock_wait_ms = NULL WHERE NOT lock_wait_ms BETWEEN 0 AND 1e+12")
    op.execute("UPDATE outcomes SET duration_s = 0 WHERE NOT duration_s BETWEEN 0 AND 1e+09")
    op.execute("UPDATE outcomes SET calls_per_sample = NULL WHERE calls_per_sample < 0")
    # Null says that no runner reported at all.
    for name in ("position", "log_bytes"):
        op.execute(f"UPDATE outcomes SET {name} = 0 WHERE {name} < 0")
    op.create_check_constraint(op.f("ck_outcomes_measurable"), "outcomes", MEASURABLE)


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
