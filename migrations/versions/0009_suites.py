"""A suite is stored once and never changes; what bundles bring is a suite of its own.

Runners and bundles shared a suite until now, and whoever came later completed it. The imported
campaigns of such a suite move to one of their own, and a suite that only bundles brought is
marked as such, so that the first runner that serves the revision stores it whole. No suite has a
digest yet: its first registration after this one compares it case by case, and adds it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

MARK = """
UPDATE suites s SET origin = 'bundle'
 WHERE EXISTS (SELECT FROM campaign_targets ct WHERE ct.suite_id = s.id)
   AND NOT EXISTS (SELECT FROM campaign_targets ct JOIN campaigns p ON p.id = ct.campaign_id
                    WHERE ct.suite_id = s.id AND p.imported_at IS NULL)
   AND NOT EXISTS (SELECT FROM runner_suites rs WHERE rs.suite_id = s.id)
"""

MAKE_OWN = """
INSERT INTO suites (name, framework, revision, origin)
SELECT DISTINCT s.name, s.framework, s.revision, 'bundle'
  FROM suites s JOIN campaign_targets ct ON ct.suite_id = s.id JOIN campaigns p ON p.id = ct.campaign_id
 WHERE s.origin = 'runner' AND p.imported_at IS NOT NULL
"""

MOVING = """
CREATE TEMPORARY TABLE moving ON COMMIT DROP AS
SELECT ct.campaign_id, ct.target_id, own.id AS suite_id
  FROM campaign_targets ct
  JOIN campaigns p ON p.id = ct.campaign_id AND p.imported_at IS NOT NULL
  JOIN suites served ON served.id = ct.suite_id AND served.origin = 'runner'
  JOIN suites own ON own.origin = 'bundle'
   AND (own.name, own.framework, own.revision) = (served.name, served.framework, served.revision)
"""

COPY_CASES = """
INSERT INTO cases (suite_id, name, function, host_only, tags, position)
SELECT DISTINCT m.suite_id, c.name, c.function, c.host_only, c.tags, c.position
  FROM moving m
  JOIN jobs j ON j.campaign_id = m.campaign_id AND j.target_id = m.target_id
  JOIN cases c ON c.id = j.case_id
 ORDER BY m.suite_id, c.position, c.name
"""

MOVE = """
UPDATE {table} r SET case_id = own.id
  FROM moving m, cases served, cases own
 WHERE r.campaign_id = m.campaign_id AND r.target_id = m.target_id
   AND served.id = r.case_id AND own.suite_id = m.suite_id AND own.name = served.name
"""

MOVE_TARGETS = """
UPDATE campaign_targets ct SET suite_id = m.suite_id
  FROM moving m WHERE ct.campaign_id = m.campaign_id AND ct.target_id = m.target_id
"""


def upgrade() -> None:
    op.add_column(
        "suites",
        sa.Column(
            "origin",
            sa.Enum("runner", "bundle", name="origin", native_enum=False, create_constraint=True, length=24),
            server_default="runner",
            nullable=False,
            comment="runner: what runners serve, whole; bundle: what bundles brought, perhaps a part, never dispatched",
        ),
    )
    op.add_column(
        "suites",
        sa.Column(
            "digest",
            sa.Text(),
            nullable=True,
            comment="of its cases, which never change; null: stored before there were digests",
        ),
    )
    op.drop_constraint("uq_suites_name_framework_revision", "suites")
    op.execute(MARK)
    op.execute(MAKE_OWN)
    op.execute(MOVING)
    op.execute(COPY_CASES)
    for table in ("jobs", "outcomes"):
        op.execute(MOVE.format(table=table))
    op.execute(MOVE_TARGETS)
    op.create_index(
        "uq_suites_served",
        "suites",
        ["name", "framework", "revision"],
        unique=True,
        postgresql_where=sa.text("origin = 'runner'"),
    )
    op.create_index(
        "uq_suites_bundled",
        "suites",
        ["name", "framework", "revision", "digest"],
        unique=True,
        postgresql_where=sa.text("origin = 'bundle'"),
    )


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
