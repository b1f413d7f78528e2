/** Draws the picture of {@code scripts/check-soak}. */
package io.jccl.cli.soak;
