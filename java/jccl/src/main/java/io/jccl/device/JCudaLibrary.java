package io.jccl.device;

import io.jccl.DeviceException;
import java.util.Optional;

/**
 * Checks whether this process can use JCuda. If a part is missing, each class of JCuda fails differently, so code that
 * uses JCuda's classes must ask this class first.
 */
public final class JCudaLibrary {

    private static final String BINDINGS = "jcuda.driver.JCudaDriver";
    private static final String DRIVER = "libcuda.so.1";

    /** The parts of JCuda that are present. */
    public enum State {
        /** Everything that JCuda needs is present. */
        READY,
        /** The jar is not on the class path. */
        NO_JAR,
        /** The jar is present, but its natives are not, or they cannot be loaded. */
        NO_NATIVES,
        /** Jar and natives are present, but NVIDIA's driver is not. */
        NO_DRIVER
    }

    private JCudaLibrary() {}

    /** Returns the parts that are present, as found by the first call. */
    public static State state() {
        return Holder.PROBE.state();
    }

    /** Returns what is missing and the remedy; empty if nothing is missing. */
    public static Optional<String> missing() {
        return switch (state()) {
            case READY -> Optional.empty();
            case NO_JAR -> Optional.of("JCuda's jar is missing: put org.jcuda:jcuda and org.jcuda:jcuda-natives"
                    + " (classifier linux-x86_64) on the class path");
            case NO_NATIVES -> Optional.of("JCuda's natives are missing or cannot be loaded (" + Holder.PROBE.reason()
                    + "): put org.jcuda:jcuda-natives (classifier linux-x86_64, the jar's version) on the class path");
            case NO_DRIVER -> Optional.of("NVIDIA's driver is missing (" + Holder.PROBE.reason()
                    + "): run where a GPU and its driver are (in a container: pass them through)");
        };
    }

    /**
     * Throws if JCuda cannot be used.
     *
     * @param purpose the reason why JCuda is needed, for the message
     * @throws DeviceException if something is missing; says what, and the remedy
     */
    public static void require(String purpose) {
        missing().ifPresent(reason -> {
            throw new DeviceException(purpose + " needs JCuda. " + reason);
        });
    }

    private record Probe(State state, String reason) {}

    private static final class Holder {
        static final Probe PROBE = probe();

        private static Probe probe() {
            ClassLoader loader = JCudaLibrary.class.getClassLoader();
            try {
                Class.forName(BINDINGS, false, loader);
            } catch (ClassNotFoundException e) {
                return new Probe(State.NO_JAR, BINDINGS + " not found");
            }
            try {
                Class.forName(BINDINGS, true, loader); // loads the natives
                return new Probe(State.READY, "");
            } catch (ClassNotFoundException | LinkageError e) {
                return explain(e);
            }
        }

        /**
         * JCuda's message contains two stack traces. The driver is missing if the loader's message in one of them says
         * so.
         */
        private static Probe explain(Throwable failure) {
            for (Throwable at = failure; at != null; at = at.getCause()) {
                String message = String.valueOf(at.getMessage());
                if (message.contains(DRIVER + ": cannot open")) {
                    return new Probe(State.NO_DRIVER, DRIVER + " is not found");
                }
            }
            return new Probe(State.NO_NATIVES, lastReason(String.valueOf(failure.getMessage())));
        }

        private static String lastReason(String message) {
            return message.lines()
                    .filter(line -> line.startsWith("java."))
                    .reduce((first, second) -> second)
                    .orElseGet(() -> message.lines().findFirst().orElse("no reason given"));
        }
    }
}
