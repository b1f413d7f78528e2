package io.jccl.config;

import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.text;

import java.util.List;
import java.util.Optional;

/** Settings of the status server: whether and where {@code jccl ps} can look into this process. */
public final class StatusSettings {

    private static final SettingGroup GROUP = new SettingGroup("Status");

    public static final Setting<Boolean> STATUS = GROUP.add(
            "JCCL_STATUS",
            "",
            flag(),
            true,
            "Whether `jccl ps` can look into this process, while it has a communicator. It costs nothing while nobody looks."
                    + " `0`: no thread, no socket.");

    public static final Setting<Integer> STATUS_PORT = GROUP.add(
            "JCCL_STATUS_PORT",
            "",
            integer(0, 65_535),
            0,
            "The TCP port on which `jccl ps HOST:PORT` reaches this process; 0, or one that is in use: any.");

    public static final Setting<Optional<String>> STATUS_DIR = GROUP.add(
            "JCCL_STATUS_DIR",
            "",
            optional(text("a directory that only this user can enter")),
            Optional.empty(),
            "The directory of the Unix sockets by which `jccl ps` finds this user's processes on this host, the same for"
                    + " the job and the command. Unset: `/tmp/jccl-UID`.");

    private StatusSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
