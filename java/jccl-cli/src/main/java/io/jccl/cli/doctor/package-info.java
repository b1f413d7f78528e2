/** {@code jccl doctor}: what would make this host slow or fail, each with its remedy. */
package io.jccl.cli.doctor;
