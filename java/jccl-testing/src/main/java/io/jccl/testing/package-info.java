/** What the tests of several modules share. The tests of the library itself do not use it, so that they need no module. */
package io.jccl.testing;
