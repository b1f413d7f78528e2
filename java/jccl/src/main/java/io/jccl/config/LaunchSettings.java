package io.jccl.config;

import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.processors;
import static io.jccl.config.ValueTypes.text;

import java.math.BigInteger;
import java.util.List;
import java.util.Optional;

/** What the launcher sets for each process of a job. */
public final class LaunchSettings {

    private static final SettingGroup GROUP = new SettingGroup("Launch");

    /** This process's rank. */
    public static final Setting<Optional<Integer>> RANK = GROUP.add(
            "JCCL_RANK",
            "",
            optional(integer(0, Integer.MAX_VALUE - 1)),
            Optional.empty(),
            "This process's rank, from 0. Read by `Communicator.fromEnvironment` together with `JCCL_SIZE` and"
                    + " `JCCL_RENDEZVOUS`; without all three the launcher's own variables are used.");

    /** The number of ranks. */
    public static final Setting<Optional<Integer>> SIZE = GROUP.add(
            "JCCL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks of the job.");

    /** This process's rank among those of its host. */
    public static final Setting<Optional<Integer>> LOCAL_RANK = GROUP.add(
            "JCCL_LOCAL_RANK",
            "",
            optional(integer(0, Integer.MAX_VALUE - 1)),
            Optional.empty(),
            "This process's rank among those of its host.");

    /** The number of ranks on this process's host. */
    public static final Setting<Optional<Integer>> LOCAL_SIZE = GROUP.add(
            "JCCL_LOCAL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks on this process's host; where it is not set it is found while ranks meet.");

    /** Where rank 0 waits for the others. */
    public static final Setting<Optional<String>> RENDEZVOUS = GROUP.add(
            "JCCL_RENDEZVOUS",
            "",
            optional(text("HOST:PORT or HOST:PORT/SECRET of rank 0, or file:/PATH")),
            Optional.empty(),
            "Where rank 0 waits for the others: `HOST:PORT/SECRET`, with a secret that only the ranks know; `HOST:PORT` in"
                    + " a network that is trusted; or `file:/PATH`, a file that rank 0 writes and all ranks can read.");

    /** Which host this rank is on. */
    public static final Setting<Optional<String>> HOST_ID = GROUP.add(
            "JCCL_HOST_ID",
            "NCCL_HOSTID",
            optional(text("a name of up to 256 characters")),
            Optional.empty(),
            "Which host this rank is on, instead of the kernel's boot id: ranks with the same id share one. Different"
                    + " ids on one host make it several simulated hosts.");

    /** The processors of this process. */
    public static final Setting<Optional<BigInteger>> CPU_AFFINITY = GROUP.add(
            "JCCL_CPU_AFFINITY",
            "",
            optional(processors()),
            Optional.empty(),
            "The processors to which the first communicator binds all threads of its process, those of the application"
                    + " included, out of those that the process may use. `jccl run --bind` sets it for each rank.");

    private LaunchSettings() {}

    /** A rendezvous as logs may have it: who knows the secret can join the job. */
    public static String withoutSecret(String rendezvous) {
        if (rendezvous.startsWith("file:")) {
            return rendezvous;
        }
        // The text of a UniqueId is no rendezvous, but all of it is secret.
        return rendezvous.replaceFirst("(?s)(^jccl1:|/).*", "$1…");
    }

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
