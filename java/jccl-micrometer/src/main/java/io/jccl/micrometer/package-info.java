/** The metrics of a communicator as meters of Micrometer: see {@link io.jccl.micrometer.CommunicatorMeters}. */
@NullMarked
package io.jccl.micrometer;

import org.jspecify.annotations.NullMarked;
