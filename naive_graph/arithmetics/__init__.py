"""Other things that rules can be applied to: slopes carried along, formulas written down."""
