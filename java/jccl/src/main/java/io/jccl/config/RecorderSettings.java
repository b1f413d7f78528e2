package io.jccl.config;

import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.path;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Settings of the flight recorder: how many operations a rank remembers, and where it dumps them. */
public final class RecorderSettings {

    private static final SettingGroup GROUP = new SettingGroup("Flight recorder");

    public static final Setting<Integer> RECORDER_OPERATIONS = GROUP.add(
            "JCCL_RECORDER_OPERATIONS",
            "",
            integer(0, 1 << 20),
            1024,
            "How many of the last operations of a communicator each rank records with their times, and how many groups"
                    + " of sends and receives. JCCL rounds the number up to a power of two, and to at least 256; each"
                    + " record takes 64 bytes. 0: 256 operations without times.");

    public static final Setting<Optional<Path>> DUMP_DIR = GROUP.add(
            "JCCL_DUMP_DIR",
            "",
            optional(path("a folder, which JCCL creates if it is missing")),
            Optional.empty(),
            "The folder to which each rank writes its last operations if its communicator fails or times out, for"
                    + " `jccl trace`. All ranks can share one folder. Unset: ranks write nothing.");

    private RecorderSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
