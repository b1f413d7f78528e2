package io.jccl.cli.doctor;

import java.util.ArrayList;
import java.util.List;

/** Finds the directories with the limits of this process's control groups, for versions 1 and 2 of cgroups. */
final class ControlGroups {

    private static final String MOUNT = "/sys/fs/cgroup";

    private ControlGroups() {}

    /** Returns the directories whose files may limit this process: its own group first, the root last. */
    static List<String> directories(Host host, String controller) {
        List<String> directories = new ArrayList<>();
        for (String line : host.read("/proc/self/cgroup").orElse("").split("\n")) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                addUpwards(directories, MOUNT, parts[2]);
            } else if (parts.length == 3 && List.of(parts[1].split(",")).contains(controller)) {
                addUpwards(directories, MOUNT + "/" + controller, parts[2]);
            }
        }
        return directories;
    }

    private static void addUpwards(List<String> directories, String mount, String group) {
        String path = group;
        while (path.length() > 1) {
            directories.add(mount + path);
            path = path.substring(0, Math.max(1, path.lastIndexOf('/')));
        }
        directories.add(mount);
    }
}
