package io.jccl.init;

import io.jccl.config.LaunchSettings;
import io.jccl.config.ProcessorSet;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeAffinity;
import io.jccl.topology.ProcessorGroups;
import java.io.IOException;
import java.math.BigInteger;
import java.util.Optional;

/** Binds this process to the processors that {@code JCCL_CPU_AFFINITY} names. */
final class ProcessAffinity {

    private static BigInteger bound = BigInteger.ZERO;

    private ProcessAffinity() {}

    /**
     * Binds the process, unless an earlier call has bound it to the same processors.
     *
     * @throws IllegalArgumentException if the process may not use these processors, or is bound to others
     */
    static synchronized void apply(Settings settings) {
        Optional<BigInteger> wanted = settings.get(LaunchSettings.CPU_AFFINITY);
        if (wanted.isEmpty() || wanted.get().equals(bound)) {
            return;
        }
        if (bound.signum() != 0) {
            throw refused(
                    wanted.get(),
                    "an earlier communicator has bound this process to " + ProcessorSet.format(bound)
                            + "; use one value in a process");
        }
        BigInteger open = ProcessorGroups.ofThisHost().open();
        BigInteger closed = wanted.get().andNot(open);
        if (open.signum() != 0 && closed.signum() != 0) {
            throw refused(
                    wanted.get(),
                    "this process may not use " + ProcessorSet.format(closed)
                            + ", expected some of " + ProcessorSet.format(open)
                            + "; change the setting, or the cpuset or affinity with which the process starts");
        }
        try {
            NativeAffinity.bindProcess(wanted.get());
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    refused(wanted.get(), Causes.describe(e)).getMessage(), e);
        }
        bound = wanted.get();
    }

    private static IllegalArgumentException refused(BigInteger wanted, String why) {
        return new IllegalArgumentException(
                LaunchSettings.CPU_AFFINITY.name() + "=\"" + ProcessorSet.format(wanted) + "\": " + why);
    }
}
