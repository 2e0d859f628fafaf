"""`python -m auditor` is `k6-audit`."""

from auditor.cli.app import main

main()
