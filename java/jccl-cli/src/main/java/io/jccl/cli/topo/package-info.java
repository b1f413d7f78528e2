/** Reports of {@code jccl topo}: as text, as JSON, and as the data for pictures. */
package io.jccl.cli.topo;
