/** What every subcommand prints with: terminals, tables, JSON, byte sizes. */
package io.jccl.cli.output;
