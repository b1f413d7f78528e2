/** {@code jccl doctor}: finds what would make JCCL slow or fail on this host, and a remedy for each finding. */
package io.jccl.cli.doctor;
