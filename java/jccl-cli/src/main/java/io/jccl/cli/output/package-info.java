/** What every subcommand prints with: terminals, tables, JSON, byte sizes, exit codes, SVG, files. */
package io.jccl.cli.output;
