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
            "1: `jccl ps` can inspect this process while it has a communicator; this costs nothing while nobody"
                    + " inspects it. 0: the process has no thread and no socket for this.");

    public static final Setting<Integer> STATUS_PORT = GROUP.add(
            "JCCL_STATUS_PORT",
            "",
            integer(0, 65_535),
            0,
            "The TCP port on which `jccl ps HOST:PORT` reaches this process. If it is 0 or in use, JCCL takes any free"
                    + " port.");

    public static final Setting<Optional<String>> STATUS_DIR = GROUP.add(
            "JCCL_STATUS_DIR",
            "",
            optional(text("a directory that only this user can enter")),
            Optional.empty(),
            "The directory of the Unix sockets through which `jccl ps` finds this user's processes on this host. Must"
                    + " be the same for the job and the command. Unset: `/tmp/jccl-UID`.");

    private StatusSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
