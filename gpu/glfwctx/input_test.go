//go:build cgo && !nowindow

package glfwctx

import (
	"testing"

	"github.com/go-gl/glfw/v3.3/glfw"
	"github.com/stretchr/testify/assert"
)

func TestCodesFollowGLFW(t *testing.T) {
	for ours, theirs := range map[Key]glfw.Key{
		'A': glfw.KeyA, '1': glfw.Key1, ' ': glfw.KeySpace,
		KeyEscape: glfw.KeyEscape, KeyEnter: glfw.KeyEnter, KeyTab: glfw.KeyTab, KeyBackspace: glfw.KeyBackspace,
		KeyRight: glfw.KeyRight, KeyLeft: glfw.KeyLeft, KeyDownArrow: glfw.KeyDown, KeyUpArrow: glfw.KeyUp,
	} {
		assert.Equal(t, int(theirs), int(ours))
	}
	for ours, theirs := range map[Button]glfw.MouseButton{
		ButtonLeft: glfw.MouseButtonLeft, ButtonRight: glfw.MouseButtonRight, ButtonMiddle: glfw.MouseButtonMiddle,
	} {
		assert.Equal(t, int(theirs), int(ours))
	}
	assert.Equal(t, ModShift|ModAlt, modsOf(glfw.ModShift|glfw.ModAlt))
	assert.Equal(t, ModControl|ModSuper, modsOf(glfw.ModControl|glfw.ModSuper))
}
