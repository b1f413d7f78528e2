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
            "This process's rank, from 0. `Communicator.fromEnvironment` reads it together with `JCCL_SIZE` and"
                    + " `JCCL_RENDEZVOUS`. Unless all three are set, it reads the variables of the job's launcher.");

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
            "This process's local rank: its number among the ranks of its host, from 0.");

    public static final Setting<Optional<Integer>> LOCAL_SIZE = GROUP.add(
            "JCCL_LOCAL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks on this process's host. Optional: ranks learn it during initialisation.");

    public static final Setting<Optional<String>> RENDEZVOUS = GROUP.add(
            "JCCL_RENDEZVOUS",
            "",
            optional(text("HOST:PORT or HOST:PORT/SECRET of rank 0, or file:/PATH")),
            Optional.empty(),
            "Where the ranks meet: `HOST:PORT/SECRET` of rank 0, with a secret that only the ranks know; `HOST:PORT` in"
                    + " a trusted network; or `file:/PATH`, a file that rank 0 writes and all ranks can read.");

    public static final Setting<Optional<String>> JOIN = GROUP.add(
            "JCCL_JOIN",
            "",
            optional(text("HOST:PORT,HOST:PORT,... of ranks, or file:/DIRECTORY")),
            Optional.empty(),
            "Makes `Communicator.fromEnvironment` join a running job. The value is a list of addresses of ranks, with"
                    + " the secret of the job in `JCCL_RENDEZVOUS=HOST:PORT/SECRET`; or `file:/DIRECTORY` with the"
                    + " files that the ranks write (`JCCL_MEMBER_FILE`). Processes that join get their ranks in the"
                    + " order of `JCCL_RANK`, if it is set.");

    public static final Setting<Integer> MEMBER_PORT = GROUP.add(
            "JCCL_MEMBER_PORT",
            "",
            integer(0, 65_535),
            0,
            "The port where processes that join find this rank while it calls `reform`; JCCL adds `JCCL_LOCAL_RANK`, if"
                    + " that is set. A launcher can list these ports in `JCCL_JOIN`. 0: no port is known in advance.");

    public static final Setting<Optional<String>> MEMBER_FILE = GROUP.add(
            "JCCL_MEMBER_FILE",
            "",
            optional(text("the path of a file whose name begins with member-")),
            Optional.empty(),
            "The file to which this rank writes its address for processes that join, and the secret of the job; only"
                    + " its user can read it. Each rank has its own file, named `member-...`, and all are in one"
                    + " directory.");

    public static final Setting<Optional<String>> HOST_ID = GROUP.add(
            "JCCL_HOST_ID",
            "NCCL_HOSTID",
            optional(text("a name of up to 256 characters")),
            Optional.empty(),
            "The id of this rank's host; unset: the kernel's boot id. Ranks with the same id share a host. Different"
                    + " ids on one host divide it into simulated hosts.");

    public static final Setting<Optional<BigInteger>> CPU_AFFINITY = GROUP.add(
            "JCCL_CPU_AFFINITY",
            "",
            optional(processors()),
            Optional.empty(),
            "The processors to which the first communicator binds all threads of its process, including the"
                    + " application's. The process must be allowed to use them. `jccl run --bind` sets this for each"
                    + " rank.");

    private LaunchSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
