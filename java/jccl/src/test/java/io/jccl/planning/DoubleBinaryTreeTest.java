package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.topology.SharedMaterial;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DoubleBinaryTreeTest {

    @Test
    void bothTreesSpanAndAreShallowUpTo200Members() {
        for (int size = 1; size <= 200; size++) {
            DoubleBinaryTree tree = new DoubleBinaryTree(size);
            int allowed = size == 1 ? 0 : 32 - Integer.numberOfLeadingZeros(size - 1);
            for (int which = 0; which < 2; which++) {
                assertThat(tree.parent(which, tree.root(which))).isEqualTo(DoubleBinaryTree.NONE);
                Set<Integer> children = new HashSet<>();
                for (int member = 0; member < size; member++) {
                    assertThat(tree.depth(which, member)).isLessThanOrEqualTo(allowed);
                    for (int slot = 0; slot < 2; slot++) {
                        int child = tree.child(which, member, slot);
                        if (child != DoubleBinaryTree.NONE) {
                            assertThat(tree.parent(which, child)).isEqualTo(member);
                            assertThat(tree.position(which, child)).isEqualTo(slot);
                            assertThat(children.add(child)).isTrue();
                        }
                    }
                }
                assertThat(children).hasSize(size - 1).doesNotContain(tree.root(which));
            }
        }
    }

    /**
     * Every member is a leaf in at least one tree. If the number of members is odd, one member may be an inner node in
     * both trees.
     */
    @Test
    void innerMembersOfOneTreeAreLeavesOfTheOther() {
        for (int size = 1; size <= 200; size++) {
            DoubleBinaryTree tree = new DoubleBinaryTree(size);
            int innerInBoth = 0;
            for (int member = 0; member < size; member++) {
                if (tree.child(0, member, 0) >= 0 && tree.child(1, member, 0) >= 0) {
                    innerInBoth++;
                }
            }
            assertThat(innerInBoth).as("size=%d", size).isLessThanOrEqualTo(size % 2);
        }
    }

    @Test
    void equalsTheReferenceFor1To64Members() throws IOException {
        Optional<Path> file = SharedMaterial.find("reference/double_binary_trees.json");
        assumeTrue(file.isPresent(), "no reference next to the project");
        Matcher sizes =
                Pattern.compile("\"(\\d+)\":\\[((?:\\[[-0-9,]+\\],?)+)\\]").matcher(Files.readString(file.get()));
        List<Integer> seen = new ArrayList<>();
        while (sizes.find()) {
            int size = Integer.parseInt(sizes.group(1));
            seen.add(size);
            StringBuilder ours = new StringBuilder();
            for (int member = 0; member < size; member++) {
                ours.append(member == 0 ? "[" : ",[")
                        .append(row(new DoubleBinaryTree(size), member))
                        .append(']');
            }
            assertThat(ours.toString()).as("size=%d", size).isEqualTo(sizes.group(2));
        }
        assertThat(seen).hasSize(64).doesNotHaveDuplicates();
    }

    private static String row(DoubleBinaryTree tree, int member) {
        List<String> numbers = new ArrayList<>();
        for (int which = 0; which < 2; which++) {
            numbers.add(Integer.toString(tree.parent(which, member)));
            numbers.add(Integer.toString(tree.child(which, member, 0)));
            numbers.add(Integer.toString(tree.child(which, member, 1)));
        }
        return String.join(",", numbers);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 1000, 65_536, 1 << 30, Integer.MAX_VALUE})
    void largeNumbersDoNotOverflow(int size) {
        DoubleBinaryTree tree = new DoubleBinaryTree(size);
        for (int member : new int[] {0, size / 2, size - 1}) {
            assertThat(tree.depth(0, member)).isLessThanOrEqualTo(31);
            assertThat(tree.child(1, member, 1)).isBetween(-1, size - 1);
        }
    }

    @Test
    void refusesNumbersOutOfRange() {
        assertThatThrownBy(() -> new DoubleBinaryTree(0)).hasMessageContaining("size=0");
        DoubleBinaryTree tree = new DoubleBinaryTree(4);
        assertThatThrownBy(() -> tree.parent(0, 4)).hasMessageContaining("member=4: the tree has members 0 to 3");
        assertThatThrownBy(() -> tree.parent(2, 0)).hasMessageContaining("tree=2");
        assertThatThrownBy(() -> tree.child(0, 0, 2)).hasMessageContaining("which=2");
    }
}
