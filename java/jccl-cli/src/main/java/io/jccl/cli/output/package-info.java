/** Output of all subcommands: terminals, tables, JSON, byte sizes, exit codes, SVG and files. */
package io.jccl.cli.output;
