/** A communicator's counters as meters of Micrometer: see {@link io.jccl.micrometer.CommunicatorMeters}. */
@NullMarked
package io.jccl.micrometer;

import org.jspecify.annotations.NullMarked;
