/** What {@code jccl topo} shows, apart from how it is asked for: text and JSON, and what pictures are made from. */
package io.jccl.cli.topo;
