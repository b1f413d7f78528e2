/** What every subcommand prints with: terminals, tables, JSON, byte sizes, exit codes. */
package io.jccl.cli.output;
