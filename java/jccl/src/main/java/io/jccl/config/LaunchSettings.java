package io.jccl.config;

import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.processors;
import static io.jccl.config.ValueTypes.text;

import java.math.BigInteger;
import java.util.List;
import java.util.Optional;

/** Settings that a launcher gives each process of a job. */
public final class LaunchSettings {

    private static final SettingGroup GROUP = new SettingGroup("Launch");

    public static final Setting<Optional<Integer>> RANK = GROUP.add(
            "JCCL_RANK",
            "",
            optional(integer(0, Integer.MAX_VALUE - 1)),
            Optional.empty(),
            "This process's rank, from 0. Read by `Communicator.fromEnvironment` together with `JCCL_SIZE` and"
                    + " `JCCL_RENDEZVOUS`; without all three the launcher's own variables are used.");

    public static final Setting<Optional<Integer>> SIZE = GROUP.add(
            "JCCL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks of the job.");

    public static final Setting<Optional<Integer>> LOCAL_RANK = GROUP.add(
            "JCCL_LOCAL_RANK",
            "",
            optional(integer(0, Integer.MAX_VALUE - 1)),
            Optional.empty(),
            "This process's rank among those of its host.");

    public static final Setting<Optional<Integer>> LOCAL_SIZE = GROUP.add(
            "JCCL_LOCAL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks on this process's host; where it is not set it is found while ranks meet.");

    public static final Setting<Optional<String>> RENDEZVOUS = GROUP.add(
            "JCCL_RENDEZVOUS",
            "",
            optional(text("HOST:PORT or HOST:PORT/SECRET of rank 0, or file:/PATH")),
            Optional.empty(),
            "Where rank 0 waits for the others: `HOST:PORT/SECRET`, with a secret that only the ranks know; `HOST:PORT` in"
                    + " a network that is trusted; or `file:/PATH`, a file that rank 0 writes and all ranks can read.");

    public static final Setting<Optional<String>> JOIN = GROUP.add(
            "JCCL_JOIN",
            "",
            optional(text("HOST:PORT,HOST:PORT,... of ranks, or file:/DIRECTORY")),
            Optional.empty(),
            "Makes `Communicator.fromEnvironment` join a job that runs, in the place of its rank and size: the addresses of"
                    + " ranks, with the secret of the job in `JCCL_RENDEZVOUS=HOST:PORT/SECRET`; or `file:/DIRECTORY` of"
                    + " the ranks' `JCCL_MEMBER_FILE`. `JCCL_RANK`, if set, says in which order processes join.");

    public static final Setting<Integer> MEMBER_PORT = GROUP.add(
            "JCCL_MEMBER_PORT",
            "",
            integer(0, 65_535),
            0,
            "The port, plus `JCCL_LOCAL_RANK` if that is set, where processes that join find this rank while it calls"
                    + " `reform`, so that a launcher can name it in `JCCL_JOIN`; 0: none that is known in advance.");

    public static final Setting<Optional<String>> MEMBER_FILE = GROUP.add(
            "JCCL_MEMBER_FILE",
            "",
            optional(text("a path whose last part begins with member-")),
            Optional.empty(),
            "The file into which this rank writes how processes that join find it, with the secret of the job, readable for"
                    + " its user only. All ranks have files of their own, named `member-...`, in one directory.");

    public static final Setting<Optional<String>> HOST_ID = GROUP.add(
            "JCCL_HOST_ID",
            "NCCL_HOSTID",
            optional(text("a name of up to 256 characters")),
            Optional.empty(),
            "Which host this rank is on, instead of the kernel's boot id: ranks with the same id share one. Different"
                    + " ids on one host make it several simulated hosts.");

    public static final Setting<Optional<BigInteger>> CPU_AFFINITY = GROUP.add(
            "JCCL_CPU_AFFINITY",
            "",
            optional(processors()),
            Optional.empty(),
            "The processors to which the first communicator binds all threads of its process, those of the application"
                    + " included, out of those that the process may use. `jccl run --bind` sets it for each rank.");

    private LaunchSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
